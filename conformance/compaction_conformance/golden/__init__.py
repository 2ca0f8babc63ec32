"""The golden sessions and what is asked about them.

`sessions` loads the files, `questions` says what is asked at a point, `document` and `sweeps` hold the recorded
answers, `sweep_run` and `variant_run` ask an implementation, `recording` writes the recorded answers anew.
"""
