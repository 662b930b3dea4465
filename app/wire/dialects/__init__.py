"""What clients of LibreTranslate and DeepL send and expect, beside the native dialect."""
