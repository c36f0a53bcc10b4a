"""Drop the near-duplicates of a Hugging Face Dataset, in one process."""

import ndcore as nd


def deduplicate(dataset, text="text", **options):
    """Return the Dataset without near-duplicates. `options` are those of nd.near_duplicates.

    The texts are not copied: they are read where Arrow's files of the Dataset are mapped.
    """
    result = nd.near_duplicates(dataset.with_format("arrow")[text], **options)
    return dataset.select(result.keep_indices)


if __name__ == "__main__":
    import datasets

    notices = datasets.Dataset.from_json("examples/notices.jsonl")
    print(deduplicate(notices)["id"][:])
