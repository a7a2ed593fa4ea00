#!/usr/bin/env python3
"""Writes zh_word_levels.txt: the commonest words of jieba's dictionary, four fifths of its text.

Usage: zh_word_levels.py path/to/jieba/dict.txt > zh_word_levels.txt

The dictionary gives a count for every word. In order of falling counts, the words that make up the
first fifth of the sum of all counts are level 1, the next fifth level 2, and so on. The last fifth,
98 % of the words, is level 5 and not listed.
"""
import sys

entries = []
with open(sys.argv[1], encoding="utf-8") as dictionary:
    for line in dictionary:
        word, count = line.split(" ")[:2]
        entries.append((-int(count), word))
entries.sort()
total = -sum(count for count, _ in entries)

levels = {level: [] for level in range(1, 6)}
cutoffs = {}
reached = 0
for count, word in entries:
    level = min(5, 1 + 5 * reached // total)
    # Words of equal counts stay together.
    if level > 1 and cutoffs.get(level - 1) == -count:
        level -= 1
    levels[level].append(word)
    cutoffs[level] = -count
    reached -= count

print("# Frequent Chinese words by level, from the counts in jieba's dictionary (MIT licence,")
print("# https://github.com/fxsjy/jieba); written by zh_word_levels.py.")
for level in range(1, 5):
    print(f"# Level {level}: {len(levels[level])} words that occur {cutoffs[level]} times or more.")
for level in range(1, 5):
    print(level, " ".join(levels[level]))
