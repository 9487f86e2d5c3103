# Builds the wheel with the pinned tools of requirements/dev.txt, which the image then leaves behind.
FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements/run.txt requirements/dev.txt requirements/
RUN python -m venv /opt/elbowroom && /opt/elbowroom/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt
RUN python -m venv /opt/tools && /opt/tools/bin/pip install --no-cache-dir --require-hashes -r requirements/dev.txt
COPY pyproject.toml README.md LICENSE ./
COPY config config
COPY src src
COPY proxy proxy
RUN /opt/tools/bin/hatchling build -t wheel && /opt/elbowroom/bin/pip install --no-cache-dir --no-deps dist/*.whl

FROM python:3.11-slim
COPY --from=build /opt/elbowroom /opt/elbowroom
ENV PATH=/opt/elbowroom/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --no-create-home elbowroom && mkdir -p /app/.elbowroom && chown elbowroom /app/.elbowroom
WORKDIR /app
USER elbowroom
# The vocabularies lie inside; an image without them, or with others, is not built.
RUN elbowroom check
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/livez', timeout=2)"]
# All addresses of the container, since loopback would end inside it; compose.yaml says who outside may knock.
# --open, since the built-in configuration has no keys: publish the port on loopback alone, or bring one that has.
CMD ["elbowroom", "serve", "--host", "0.0.0.0", "--port", "8080", "--open"]
