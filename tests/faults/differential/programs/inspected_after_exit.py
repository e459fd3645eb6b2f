"""`python -i` shows an exit as an error, and goes on with the program's names."""

# env: PYTHONINSPECT=1
# stdin: print(answer)|import sys; print(sys.last_type.__name__, sys.last_traceback.tb_next)
import sys

answer = 42
sys.exit(3)
