"""The same warehouse: only what changes is copied."""

from deepcopy_in_step_slow import Warehouse, main


class LightWarehouse(Warehouse):
    def info(self):
        return {"robots": [dict(robot) for robot in self.robots], "shelves": self.shelves}


if __name__ == "__main__":
    main(LightWarehouse)
