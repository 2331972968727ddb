# A server for kbstore. Build it with `docker build -t kbstore .` and see
# docs/operating/running.md for how to run it.
FROM python:3.13-slim

COPY pyproject.toml constraints.txt README.md LICENSE /src/
COPY kbstore /src/kbstore
COPY projections /src/projections
COPY api /src/api
RUN pip install --no-cache-dir -c /src/constraints.txt '/src[postgres]' \
    && rm -rf /src \
    && useradd --create-home --uid 10001 kbstore \
    && install -d -o kbstore /data

USER kbstore
WORKDIR /data
VOLUME /data
ENV KBSTORE_DATABASE=sqlite:////data/kbstore.db \
    KBSTORE_HOST=0.0.0.0 \
    KBSTORE_PORT=8642
EXPOSE 8642
STOPSIGNAL SIGTERM
ENTRYPOINT ["kbstore"]
CMD ["serve"]
