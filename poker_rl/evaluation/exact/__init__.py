"""Exact values, best responses and exploitability, on game trees and on public trees."""
