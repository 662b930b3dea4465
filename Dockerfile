ARG PYTHON_IMAGE=base
# full, or slim: without torch, for checkpoints in attend's own form on CPUs. Importing Marian models,
# GPUs, training and the other verbs that look into weights need torch.
ARG VARIANT=full

# Dependabot updates an image named here, with its digest if it has one, and none in an ARG.
FROM python:3.11-slim AS base

FROM ${PYTHON_IMAGE} AS builder
# Where torch comes from: its builds for CPUs. https://download.pytorch.org/whl/cu130 has those for
# GPUs; left empty, it is taken from where pip takes everything else.
ARG TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# Without pip, which the server has no use for; the image's own installs into it.
RUN python -m venv --without-pip /opt/venv
COPY constraints.txt ./
RUN python -m pip --python /opt/venv/bin/python install --no-deps --constraint constraints.txt \
    ${TORCH_INDEX_URL:+--index-url ${TORCH_INDEX_URL}} torch
# Extras of pyproject.toml, such as EXTRAS=otel or EXTRAS=ray,otel.
ARG EXTRAS=
COPY pyproject.toml setup.py README.md LICENSE NOTICE ./
COPY app app
COPY model model
COPY recipes recipes
RUN python -m pip --python /opt/venv/bin/python install --constraint constraints.txt ".${EXTRAS:+[${EXTRAS}]}"
# What nothing here calls: torch's tests and C++ headers, tests that packages bring, and symbols that
# only a debugger reads. Starting torch asks for torch_shm_manager, and its optimizers import sympy.
# hadolint ignore=DL3008,DL3009
RUN apt-get update && apt-get install --yes --no-install-recommends binutils \
    && find /opt/venv/lib -type d \( -name tests -o -path '*/torch/test' -o -path '*/torch/include' \
        -o -path '*/torch/share' \) -prune -exec rm -rf {} + \
    && find /opt/venv/lib -type f \( -name '*.a' -o -path '*/torch/bin/*' \) \
        ! -name torch_shm_manager -delete \
    && find /opt/venv/lib \( -name libtorch_cpu.so -o -name libtorch_python.so \
        -o -name libllvmlite.so \) -exec strip --strip-unneeded {} +
# Both precisions for this machine's kind of processor, int8 for the other kinds of its architecture.
# They depend on the text of the sources: hence the installed package rather than this folder's (-P).
ARG KERNELS=--every-target
RUN export XDG_CACHE_HOME=/opt/cache \
    && /opt/venv/bin/python -P -m model.engine.compile \
    && if [ -n "${KERNELS}" ]; then /opt/venv/bin/python -P -m model.engine.compile "${KERNELS}" int8; fi \
    && chmod -R a+rX /opt/cache
# Weights may be written readable for their owner alone, who is nobody in the image.
COPY checkpoints/en-fr /opt/checkpoints/en-fr
RUN chmod -R a+rX /opt/checkpoints

FROM builder AS full

FROM builder AS slim
# torch, and what was installed for it alone.
RUN find /opt/venv/lib -maxdepth 3 \( -name torch -o -name 'torch-*' -o -name torchgen \
    -o -name functorch -o -name 'sympy*' -o -name 'mpmath*' -o -name 'networkx*' \) \
    -exec rm -rf {} +

# hadolint ignore=DL3006
FROM ${VARIANT} AS made
ARG VARIANT
# Nothing was removed that a verb needs: this translates, and in the full image trains ten steps. Its
# user writes to /tmp alone, as that of the image does.
COPY deploy/image/check.sh deploy/image/check.toml /check/
USER 10001:10001
RUN HOME=/tmp PATH=/opt/venv/bin:$PATH XDG_CACHE_HOME=/opt/cache \
    /check/check.sh "${VARIANT}" /opt/checkpoints/en-fr

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="attend" \
      org.opencontainers.image.description="Self-hosted translation server for Transformer checkpoints" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 attend \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin attend
COPY --from=made /opt/venv /opt/venv
COPY --from=made /opt/cache /opt/cache
COPY --from=made /opt/checkpoints /opt/checkpoints
# What a node of a Ray cluster imports; for an image with EXTRAS=ray.
COPY deploy/ray/attend_serve.py /opt/serve/
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/opt/serve \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/opt/cache \
    ATTEND_CHECKPOINT=/opt/checkpoints/en-fr \
    ATTEND_HOST=0.0.0.0 \
    ATTEND_PORT=8000
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['ATTEND_PORT']}/readyz\", timeout=4)"]
ENTRYPOINT ["attend"]
CMD ["serve"]
