"""Reads blocks of Python, each as a line of JSON, and runs them one after another with shared
names. Answers with a line of JSON: whether the block ran, and its output."""

import contextlib
import io
import json
import sys
import traceback

sys.path.insert(0, "")
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed = io.StringIO()
    ran = True
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(json.loads(line), "<example>", "exec"), names)
        except BaseException:
            ran = False
            traceback.print_exc()
    print(json.dumps([ran, printed.getvalue()]), flush=True)
