"""The labs' checks, one module a lab."""
