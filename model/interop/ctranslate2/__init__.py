"""CTranslate2's folders: the binary format, its Transformer in attend's terms, vocabularies."""
