"""What must hold on a real GPU, as one table: `python -m benchmarks.gpu`."""
