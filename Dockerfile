# syntax=docker/dockerfile:1
# One image for every process of the platform: webserver, daemon, code locations. No secret is in it, and nobody is root.
# The tag is exact; a deployment that wants the bytes pinned as well appends the digest its registry shows.
FROM python:3.11.14-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /app
# More than one machine: --build-arg OTB_GROUPS="deploy s3 workers" (pyproject.toml, docs/deployment.md).
ARG OTB_GROUPS="deploy"
RUN python -m pip install --no-cache-dir "uv==0.13.9"
COPY pyproject.toml uv.lock README.md LICENSE ./
# The dependencies first: they change seldom, and this layer is kept while they do not.
RUN uv sync --frozen --no-install-project --no-default-groups $(printf -- '--group %s ' $OTB_GROUPS)
COPY opentwbench opentwbench
COPY resources resources
COPY assets assets
COPY checks checks
COPY orchestration orchestration
COPY samples samples
COPY dbt_leaderboard dbt_leaderboard
RUN uv sync --frozen --no-default-groups $(printf -- '--group %s ' $OTB_GROUPS) \
 && .venv/bin/otb mart prepare
# Two instances, one of which DAGSTER_HOME names: runs as processes of their code location, or on workers.
COPY deploy/dagster.yaml deploy/workers.yaml deploy/workspace.yaml deploy/instance.py deploy/
RUN mkdir -p /opt/dagster /opt/dagster-workers \
 && .venv/bin/python deploy/instance.py > /opt/dagster-workers/dagster.yaml \
 && mv deploy/dagster.yaml deploy/workspace.yaml /opt/dagster/ \
 && rm -r deploy

FROM python:3.11.14-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /var/lib/otb --create-home otb \
 && mkdir -p /var/lib/otb/store /var/lib/otb/artifacts \
 && chown otb:otb /var/lib/otb/store /var/lib/otb/artifacts
COPY --from=build --chown=root:root /app /app
COPY --from=build --chown=root:root /opt/dagster /opt/dagster
COPY --from=build --chown=root:root /opt/dagster-workers /opt/dagster-workers
WORKDIR /app
ENV PATH=/app/.venv/bin:$PATH \
    DAGSTER_HOME=/opt/dagster \
    DAGSTER_DISABLE_TELEMETRY=yes \
    DBT_SEND_ANONYMOUS_USAGE_STATS=false \
    DO_NOT_TRACK=1 \
    GX_ANALYTICS_ENABLED=false \
    HF_HUB_OFFLINE=1 \
    OTB_STORE=/var/lib/otb/store \
    PYTHONDONTWRITEBYTECODE=1
USER otb
# Which process it is, compose says; this one only shows the commands.
CMD ["otb", "--help"]
