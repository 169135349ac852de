"""The rules of limit and no-limit poker with two to nine seats."""
