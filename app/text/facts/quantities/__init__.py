"""Numbers in digits and words, what they count, and times of day: read in the languages of CLDR."""
