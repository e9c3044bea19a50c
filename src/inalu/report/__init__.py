"""From records to one page: figures, tables and claims of the paper, ours beside the published."""

from inalu.report.material import Material as Material
from inalu.report.material import gather as gather
from inalu.report.write import Written as Written
from inalu.report.write import write as write
from inalu.report.write import write_report as write_report
