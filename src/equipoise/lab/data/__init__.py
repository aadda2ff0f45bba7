"""Real tables of ratings: official files, fetched or at hand, and the dense subsets that replays need."""

from equipoise.lab.data.dense import DenseTable
from equipoise.lab.data.download import Patience
from equipoise.lab.data.fetch import FetchedFile, data_terms, fetch_data
from equipoise.lab.data.inspection import RatingsSummary, inspect_ratings
from equipoise.lab.data.jester import load_jester
from equipoise.lab.data.movielens import load_movielens
from equipoise.lab.data.sources import SOURCES, DataSource, cache_folder

__all__ = [
    "SOURCES",
    "DataSource",
    "DenseTable",
    "FetchedFile",
    "Patience",
    "RatingsSummary",
    "cache_folder",
    "data_terms",
    "fetch_data",
    "inspect_ratings",
    "load_jester",
    "load_movielens",
]
