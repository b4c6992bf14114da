# Builds both programs, and an image that runs either of them. compose.yaml uses it.
FROM rust:1-bookworm AS build
WORKDIR /fairgate
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY gateway gateway
COPY booking booking
COPY waitroom-ui waitroom-ui
COPY loadtest loadtest
RUN cargo build --release -p gateway -p booking

FROM debian:bookworm-slim
RUN useradd --system --create-home fairgate
COPY --from=build /fairgate/target/release/gateway /fairgate/target/release/booking /usr/local/bin/
USER fairgate
WORKDIR /home/fairgate
CMD ["gateway", "serve", "--listen", "0.0.0.0:8080"]
