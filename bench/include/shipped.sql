-- The texts of the demo.

CREATE TEMP TABLE shipped (source text, title text, body text);
\copy shipped FROM 'demo/data/zh_laws.csv' (FORMAT csv, HEADER)
\copy shipped FROM 'demo/data/zh_verses.csv' (FORMAT csv, HEADER)
\copy shipped FROM 'demo/data/en_licenses.csv' (FORMAT csv, HEADER)
\copy shipped FROM 'demo/data/en_verses.csv' (FORMAT csv, HEADER)
