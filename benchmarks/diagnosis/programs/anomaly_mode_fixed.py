"""The same without anomaly detection."""

from anomaly_mode_slow import main

if __name__ == "__main__":
    main(debug=False)
