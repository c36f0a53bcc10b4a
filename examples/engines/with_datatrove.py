"""Drop the near-duplicates in a pipeline of datatrove."""

from datatrove.pipeline.base import PipelineStep

import ndcore as nd


class NearDuplicates(PipelineStep):
    """Pass on the documents to keep, with the size of their cluster in the metadata.

    `options` are those of nd.near_duplicates. The task holds all documents, so the pipeline has tasks=1; threads share the
    work.
    """

    type, name = "🫂 - DEDUP", "ndcore near-duplicates"

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def run(self, data, rank=0, world_size=1):
        if world_size != 1:
            raise ValueError(f"the pipeline has {world_size} tasks, and a task sees its own documents only; give it tasks=1")
        documents = list(data)
        with self.track_time():
            result = nd.near_duplicates([document.text for document in documents], **self.options)
        for document, kind, size in zip(documents, result.classes.tolist(), result.cluster_sizes.tolist(), strict=True):
            self.stat_update(kind)
            if kind == "kept":
                document.metadata["cluster_size"] = size
                yield document


if __name__ == "__main__":
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    reader = JsonlReader("examples", glob_pattern="notices.jsonl")
    LocalPipelineExecutor([reader, NearDuplicates(threshold=0.8), JsonlWriter("notices-kept")], tasks=1).run()
