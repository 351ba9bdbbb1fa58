"""Dagster announces its beta and preview features at every import; the two used here are chosen and tested."""

import warnings

import dagster as dg

# Backfill policies (beta) and partitioned asset checks (preview): docs/architecture.md, "Gating".
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
