"""PCM, chunk sizes, whole-file codecs and what a listener can measure."""
