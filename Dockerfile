# One worker, or any other `sayso` command: docker run IMAGE topics apply.
# What is installed is held to the hashes of the lock files.
FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements/ requirements/
RUN python -m venv /opt/sayso \
    && /opt/sayso/bin/pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements/run.lock \
    && pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY src/ src/
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/sayso/bin/pip install --no-cache-dir --no-deps dist/*.whl

FROM python:3.11-slim
# Tables are kept in /data: give each worker a volume of its own.
RUN useradd --system --uid 10001 --home-dir /data --create-home sayso
COPY --from=build /opt/sayso /opt/sayso
ENV PATH=/opt/sayso/bin:$PATH PYTHONUNBUFFERED=1 SAYSO_DATA_DIR=/data
USER sayso
WORKDIR /data
VOLUME /data
ENTRYPOINT ["sayso"]
CMD ["worker"]
