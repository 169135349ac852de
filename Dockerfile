# poker-rl with the versions of constraints.txt, on a CPU. For a GPU, name its CUDA version for uv:
# docker build --build-arg TORCH_BACKEND=cu130 --tag poker-rl .
FROM python:3.13-slim

ARG TORCH_BACKEND=cpu

WORKDIR /src
COPY . .
RUN pip install --no-cache-dir "uv>=0.8" \
    && uv pip install --system --no-cache --torch-backend "$TORCH_BACKEND" --constraints constraints.txt ".[play]" \
    && useradd --create-home --uid 1000 player

USER 1000
WORKDIR /home/player
# Docker gives a new volume the owner of this folder.
RUN mkdir outputs
ENTRYPOINT ["poker-rl"]
CMD ["--help"]
