"""Lesson 06: CIFAR-10 in seconds. Read `recipes` first, and `training` last.

`network`, `augmentation` and `optimizers` cover one topic each; `training` has the loop, its timing
and the evaluation.
"""
