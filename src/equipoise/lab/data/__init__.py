"""Real tables of ratings: official files, fetched or at hand, and the dense subsets that replays need.

======================  ======================================================
``sources``             what can be fetched: addresses, terms, checksums
``fetch``               terms first, then download, check, and into the cache
``download``            one file over HTTP, resumed where it broke off
``files``               opens a plain file, a packed one, or one in an archive
``jester``              jokes
``spreadsheet``         the form of their files, read by another process
``spreadsheet_reader``  that process
``movielens``           movies
``packed``              their text as eight bytes a rating
``matrix``              ratings as users × items, with gaps
``subset``              p items, and the users who rated all of them
``dense``               the complete table of these
``inspection``          what a file holds
======================  ======================================================
"""

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
