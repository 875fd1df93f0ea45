"""What every reproduction is made with and shown by: training, verdicts, pages, checks."""
