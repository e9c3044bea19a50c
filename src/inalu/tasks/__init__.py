"""What is to be learned: operations, distributions, and the tasks made of them. NumPy only."""

from inalu.tasks.distributions import Distribution as Distribution
from inalu.tasks.distributions import Exponential as Exponential
from inalu.tasks.distributions import TruncatedNormal as TruncatedNormal
from inalu.tasks.distributions import Uniform as Uniform
from inalu.tasks.distributions import Union as Union
from inalu.tasks.distributions import parse_distribution as parse_distribution
from inalu.tasks.operations import OPERATIONS as OPERATIONS
from inalu.tasks.operations import Operation as Operation
from inalu.tasks.random import Key as Key
from inalu.tasks.random import key_of as key_of
from inalu.tasks.task import ROWS as ROWS
from inalu.tasks.task import SETS as SETS
from inalu.tasks.task import Assignment as Assignment
from inalu.tasks.task import Data as Data
from inalu.tasks.task import Draw as Draw
from inalu.tasks.task import Task as Task
from inalu.tasks.task import parse_task as parse_task
