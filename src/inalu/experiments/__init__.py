"""The paper's experiments as data, run on the engine, kept in a store, and set beside the published runs."""
