"""Publishing records: checks of new records, their paths, and the pages rendered from them."""
