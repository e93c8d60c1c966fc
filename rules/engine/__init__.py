"""The rule engine: model, validation, compilation to rule tables, the one join plan and the competition."""
