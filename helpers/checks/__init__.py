"""The checks of the labs' exercises: the engine, and one package per lab."""
