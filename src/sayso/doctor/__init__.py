"""Whether everything Sayso needs is there, and how to mend what is not."""
