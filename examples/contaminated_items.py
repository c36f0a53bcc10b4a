"""Find test questions in training data, exactly or with changed words, and where they occur."""

import ndcore as nd

questions = [
    "Which river flows through the old town of Bern?",
    "How many legs has a spider that lost two of them?",
    "What is the tallest mountain of the island of Sicily?",
]
corpus = [
    "Quiz night at the mill. Which river flows through the old town of Bern? The Aare. Come again next week.",
    "Children asked how many legs has a common spider that lost two of them, and nobody knew.",
]
for gaps in (0, 2):
    found = nd.contamination(questions, corpus, min_tokens=8, gaps=gaps)
    print(f"contaminated, where at most {gaps} words may differ:")
    for i in found.contaminated().nonzero()[0]:
        print(f"  {questions[i]}")
