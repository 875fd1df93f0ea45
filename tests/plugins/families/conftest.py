import sys
from pathlib import Path

FAMILIES = Path(__file__).parent
sys.path[:0] = [str(FAMILIES), str(FAMILIES.parent)]
