"""Files of the story: the ledger clients of the services, edits of them, and deployment values."""

from __future__ import annotations

import re

from lossless.cli.demo_session.client_templates import CLIENTS
from lossless.cli.demo_session.dice import Dice
from lossless.cli.demo_session.services import Service

__all__ = ["client_path", "client_source", "edit_of", "search_matches", "values_file"]

_BLANK = re.compile("<<([a-z]+)>>")


def client_path(service: Service) -> str:
    """Give where the service's access to the ledger is written."""
    return _filled(CLIENTS[service.language].path, service)


def client_source(service: Service, dice: Dice) -> str:
    """Give that file as it is before the move."""
    template = CLIENTS[service.language]
    kinds = "\n".join(_filled(template.kind, service, operation) for operation in service.operations)
    blocks = [template.head.replace("<<kinds>>", kinds)]
    for operation in service.operations:
        block = template.operation.replace("<<note>>", dice.pick(template.notes))
        blocks.append(_filled(block, service, operation))
    return "\n".join(_filled(block, service) for block in (*blocks, template.foot))


def edit_of(service: Service, operation: str) -> dict[str, str]:
    """Give the arguments of an edit that lets one operation use the gateway."""
    template = CLIENTS[service.language]
    return {
        "path": client_path(service),
        "find": _filled(template.find, service, operation),
        "replace": _filled(template.replace, service, operation),
    }


def search_matches(service: Service, dice: Dice) -> list[dict[str, object]]:
    """Give what a search for the old ledger finds in the service's folder."""
    folder = f"services/{service.name}"
    found: list[tuple[str, str]] = [
        (client_path(service), f"ledger01, table {service.table}"),
        (f"{folder}/deploy/values.yaml", "  url: postgresql://ledger01.db.halden.internal:5432/ledger"),
        (f"{folder}/README.md", f"{service.name} writes to `{service.table}` in ledger01."),
        (f"{folder}/deploy/alerts.yaml", f'  expr: rate(ledger01_errors_total{{service="{service.name}"}}[5m]) > 0.5'),
        (f"{folder}/docs/runbook.md", f"If ledger01 fails over, restart {service.name} within ten minutes."),
        (f"{folder}/test/fixtures/ledger01.sql", f"CREATE TABLE {service.table} (entry_id bigserial PRIMARY KEY,"),
        (f"{folder}/scripts/backfill.sh", 'psql "host=ledger01.db.halden.internal dbname=ledger" -f backfill.sql'),
    ]
    kept = [found[0], *(one for one in found[1:] if dice.happens(75))]
    return [{"path": path, "line": dice.between(3, 140), "text": text} for path, text in kept]


def values_file(service: Service, dice: Dice) -> str:
    """Give the deployment values of a service."""
    replicas = max(2, service.rate // 60)
    return f"""\
service: {service.name}
owner: {service.owner.lower()}@halden.example
image:
  repository: images.halden.internal/{service.name}
  tag: "2024.{dice.between(40, 45)}.{dice.between(0, 9)}"
replicas: {replicas}
resources:
  requests: {{cpu: {dice.between(2, 9) * 100}m, memory: {dice.between(3, 12) * 128}Mi}}
  limits: {{memory: {dice.between(13, 20) * 128}Mi}}
ledger:
  url: postgresql://ledger01.db.halden.internal:5432/ledger
  user: {service.name.replace("-", "_")}
  passwordFrom: vault:ledger/{service.name}
  poolSize: {dice.between(6, 32)}
  statementTimeoutMs: {dice.between(8, 40) * 250}
gateway:
  enabled: false
  address: ledger-gateway.payments.svc:7443
  deadlineMs: {dice.between(2, 12) * 100}
  retries: {dice.between(1, 4)}
  writeMode: old        # old | shadow | dual | new
autoscaling:
  min: {replicas}
  max: {replicas * 3}
  targetCpuPercent: {dice.between(11, 15) * 5}
probes:
  readiness: {{path: /health/ready, periodSeconds: 5, failureThreshold: {dice.between(2, 5)}}}
  liveness: {{path: /health/live, periodSeconds: 10}}
podDisruptionBudget: {{maxUnavailable: 1}}
alerts:
  channel: "#team-{service.name}"
  p99Ms: {dice.between(6, 30) * 25}
  errorRate: 0.00{dice.between(1, 9)}
"""


def _filled(template: str, service: Service, operation: str = "") -> str:
    words = operation.split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    fields = {
        "name": service.name,
        "snake": service.name.replace("-", "_"),
        "flat": service.name.replace("-", ""),
        "table": service.table,
        "entity": service.entity,
        "operation": operation,
        "upper": operation.upper(),
        "camel": camel,
        "pascal": camel[:1].upper() + camel[1:],
        "sentence": operation.replace("_", " ").capitalize(),
    }
    return _BLANK.sub(lambda blank: fields[blank[1]], template)
