"""What firstfault knows, as data, and the engine that turns it into one join plan."""
