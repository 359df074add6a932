"""JSON as sessions hold it: lines, values with their places in a file, fields of any type, damaged text."""
