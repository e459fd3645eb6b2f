"""Nobody has set up logging before the program."""

import logging

print(
    logging.root.handlers,
    logging.root.level,
    logging.getLevelName(logging.getLogger("x").getEffectiveLevel()),
    sorted(logging.root.manager.loggerDict)[:3] == sorted(logging.root.manager.loggerDict)[:3],
)
logging.warning("through the root")
logging.getLogger("mine").error("mine")
logging.basicConfig(
    level=logging.DEBUG, force=True, format="%(name)s %(funcName)s %(lineno)d %(message)s"
)


def work():
    logging.debug("inside")


work()
