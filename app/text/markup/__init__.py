"""HTML and XML: reads the texts between tags, and writes translations with tags and entities."""
