"""Numbers, times of day and units: recognised, compared and written in another language."""
