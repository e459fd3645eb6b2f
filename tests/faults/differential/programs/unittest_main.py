"""unittest.main runs the program's tests and exits with its code."""

import unittest


class Tests(unittest.TestCase):
    def test_good(self):
        self.assertEqual(1, 1)

    def test_bad(self):
        with self.assertWarns(UserWarning):
            import warnings

            warnings.warn("x")


class Result(unittest.TextTestResult):
    pass


import io

result = unittest.TextTestRunner(stream=io.StringIO()).run(
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests)
)
print(result.testsRun, result.wasSuccessful())
