# SPDX-License-Identifier: Apache-2.0
"""What `pyptx.testing` is made of: inputs, cases, runs, comparison, report, pytest plugin."""
