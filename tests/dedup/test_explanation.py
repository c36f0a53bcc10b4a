"""Why two documents are or are not near-duplicates."""

from __future__ import annotations

import pickle

import pytest
from deduplicated import TEN, WORDS

import ndcore as nd


def test_explain_says_why():
    texts = [TEN, TEN, TEN + "!", TEN + " ten", TEN + " eleven", "quite other words", "..."]
    result = nd.near_duplicates(texts, shingling=WORDS, ids=list("abcdefg"), against=[TEN.title()])
    verdicts = {(i, j): result.explain(i, j).verdict for i, j in [*((0, j) for j in range(1, 8)), (4, 0)]}
    assert verdicts == {(0, 1): "identical", (0, 2): "lexical", (0, 3): "shingle", (0, 4): "near", (0, 5): "different",
                        (0, 6): "different", (0, 7): "lexical", (4, 0): "near"}  # fmt: skip
    told = result.explain(0, 4)
    assert (told.exact.common, told.exact.size_a, told.exact.size_b, told.exact.union) == (10, 10, 11, 11)
    assert told.resemblance == 10 / 11 and told.threshold == 0.8
    assert told.estimate == result.sketches.resemblance(0, 4) and told.interval == result.sketches.interval(0, 4)
    rows = result.sketches.values.reshape(7, -1)
    size = result.filter.group_size
    shared = sum((rows[0, g * size : (g + 1) * size] == rows[4, g * size : (g + 1) * size]).all()
                 for g in range(result.filter.groups))  # fmt: skip
    assert told.shared_features == shared and told.proposed is bool(shared >= result.filter.need)
    assert str(told).splitlines()[:2] == [
        "documents 0 and 4: near", "  resemblance 0.909091 (threshold 0.8): 10 shingles in common, 11 in all",
    ]  # fmt: skip
    assert "containment of 0 in 4 1.000000 (10 shingles), of 4 in 0 0.909091 (11 shingles)" in str(told)
    assert "nan" in str(result.explain(0, 6))
    for i, j, missing in [(0, 8, 8), (-1, 0, -1), (99, 0, 99)]:
        with pytest.raises(IndexError, match=f"there is no document {missing}; positions are 0 to 7"):
            result.explain(i, j)


def test_explain_documents_of_an_iterator():
    result = nd.near_duplicates(iter([TEN, TEN + " ten", "other"]), shingling=WORDS)
    assert result.explain(1, 0).exact.resemblance == 1.0
    assert result.explain(0, 0).exact.resemblance == 1.0


def test_explain_with_the_complete_filter():
    result = nd.near_duplicates([TEN, TEN + " eleven", "quite other words"], shingling=WORDS, filter="complete")
    near, far = result.explain(0, 1), result.explain(0, 2)
    assert near.verdict == "near" and near.proposed and near.shared_features == 0 and near.apart == ""
    assert far.verdict == "different" and not far.proposed
    assert str(near).splitlines()[-1] == f"  {result.filter}"


def test_explain_containment_either_way():
    result = nd.near_duplicates([TEN + " " + TEN.replace("o", "0"), TEN], shingling=WORDS, drop="contained")
    assert result.classes[1] == "contained"
    excerpt = result.explain(1, 0)
    assert excerpt.verdict == "contained" and excerpt.scores[0] == 1.0 > 0.8 > excerpt.scores[1]
    assert "score 1.000000 of 1 in 0" in str(excerpt)


def test_labels_keep_documents_apart():
    result = nd.near_duplicates([TEN, TEN + " eleven", TEN], shingling=WORDS, by=["a", "b", "b"])
    assert result.explain(0, 1).verdict == "different" and result.explain(0, 1).apart == "their labels of by differ"
    assert result.explain(1, 2).verdict == "near" and result.explain(1, 2).apart == ""


def test_documents_linked_by_others():
    words = [f"w{i}" for i in range(16)]
    chain = [" ".join(words[start : start + 10]) for start in (0, 3, 6)]
    result = nd.near_duplicates(chain, shingling=WORDS, threshold=0.5, cluster="components")
    assert result.classes.tolist() == ["kept", "near", "chained"] and result.score[2] == 4 / 16
    assert result.explain(0, 2).verdict == "different"  # as a pair


def test_versions_are_not_compared():
    result = nd.near_duplicates([TEN, TEN + " eleven"], shingling=WORDS, one_per=["u", "u"], drop_common=0.5)
    told = result.explain(0, 1)
    assert told.verdict == "version" and all(score != score for score in told.scores)


def test_weights_decide_the_score():
    # By hand: of 3 documents, "common" is in all and weighs 1; each other word is in 2 or 1.
    texts = ["common rare one", "common rare two", "common three four"]
    idf = nd.Idf.learn(texts, WORDS)
    of_common, of_rare, of_others = (idf.weights(WORDS.fingerprints(word))[0] for word in ("common", "rare", "one"))
    assert of_common == 1.0 < of_rare < of_others
    result = nd.near_duplicates(texts, threshold=0.3, weights=idf)
    told, far = result.explain(1, 0), result.explain(0, 2)
    score = (of_common + of_rare) / (of_common + of_rare + 2 * of_others)
    assert told.scores == (score, score) == (result.score[1], result.pair_scores[0]) and told.verdict == "near"
    assert told.resemblance == result.resemblance[1] == 0.5 and "compared with the threshold 0.3" in str(told)
    assert far.verdict == "different" and far.scores[0] < far.resemblance == 0.2 and not far.proposed
    assert pickle.loads(pickle.dumps(result)).explain(1, 0) == told
    assert str(result.filter).endswith("misses no pair with a resemblance of at least 0.3, by weights")


def test_a_run_that_would_be_lost_keeps_documents_apart():
    longer = TEN + " first second third"
    result = nd.near_duplicates([TEN, longer, TEN + " first"], shingling=WORDS, threshold=0.7, max_lost=2)
    told = result.explain(0, 1)
    assert told.verdict == "different"
    assert told.apart == "document 1 has a run of 3 words that document 0 lacks; max_lost is 2"
    assert result.explain(1, 0).apart == told.apart
    assert result.explain(0, 2).verdict == "near" and result.explain(0, 2).apart == ""  # a run of 1
