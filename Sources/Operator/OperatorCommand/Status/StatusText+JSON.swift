// SPDX-License-Identifier: Apache-2.0
import Records

extension StatusText {
  static func json(_ status: PipelineStatus) -> String {
    String(decoding: JSONValue.object(object(status)).text, as: UTF8.self)
  }

  static func object(_ status: PipelineStatus) -> JSONObject {
    var root = JSONObject()
    root.append("state", .string(status.headline.rawValue))
    root.append("ready", .bool(status.isReady))
    root.append("time", rounded(status.wall))
    root.append("processes", .array(status.processes.map(process)))
    root.append("requests_per_second", rounded(status.requestsPerSecond))
    root.append("refused_per_second", rounded(status.refusedPerSecond))
    root.append("ingest_per_second", object(status.ingestedPerSecond))
    root.append("ingest_total", object(status.ingested))
    root.append("requests_open", rounded(status.openRequests))
    root.append("requests_oldest_seconds", rounded(status.oldestRequest))
    root.append("outcomes_per_second", object(status.outcomesPerSecond))
    root.append("outcomes_total", object(status.outcomes))
    root.append("reasons_total", object(status.reasons))
    root.append("retries_per_second", object(status.retriesPerSecond))
    root.append("in_flight", rounded(status.inFlight))
    root.append("waiting", rounded(status.waiting))
    root.append("backlog_seconds", object(status.backlogSeconds))
    root.append("lanes", .array(status.lanes.map { .string($0) }))
    root.append("unread_records", object(status.unread))
    root.append("connections", object(status.connections))
    root.append("destinations", object(status.destinations))
    root.append("blocked", .array(status.blockages.map(blockage)))
    root.append("last_accepted_seconds", status.lastAccepted.map(rounded) ?? .null)
    root.append("delivery_seconds", quantiles(status.delivery))
    root.append("delivery_seconds_since_start", quantiles(status.deliverySinceStart))
    root.append("credentials_without_token", rounded(status.credentialsWithoutToken))
    root.append("oldest_token_seconds", status.oldestToken.map(rounded) ?? .null)
    root.append("next_certificate_expiry_seconds", status.nextCertificate.map(rounded) ?? .null)
    root.append("records_lost", rounded(status.lost))
    root.append("held_by_transaction_seconds", rounded(status.heldByTransaction))
    root.append("invalid_tokens", status.invalidTokens.map(rounded) ?? .null)
    root.append("paused", object(status.paused))
    root.append("paces", rounded(status.paces))
    root.append("scheduled", status.scheduled.map { rounded($0.count) } ?? .null)
    root.append("schedule_late_seconds", status.scheduled.map { rounded($0.late) } ?? .null)
    root.append("campaigns", .array(status.campaigns.map(campaign)))
    root.append("campaigns_unlisted", rounded(status.unlistedCampaigns))
    root.append("canaries", .array(status.canaries.map(canary)))
    root.append("warnings", .array(warnings(status).map { .string(String($0.dropFirst(2))) }))
    return root
  }

  private static func quantiles(_ delivery: (median: Double, p99: Double)?) -> JSONValue {
    delivery.map { ["p50": rounded($0.median), "p99": rounded($0.p99)] } ?? .null
  }

  /// The JSON that replaces a status that cannot be read, with the cause.
  static func unavailable(_ cause: String) -> String {
    let root = JSONObject([.init(key: "unavailable", value: .string(cause))])
    return String(decoding: JSONValue.object(root).text, as: UTF8.self)
  }

  private static func process(_ process: PipelineStatus.Process) -> JSONValue {
    let (state, causes): (String, [String]) =
      switch process.state {
      case .ready: ("ready", [])
      case .notReady(let reasons): ("not_ready", reasons)
      case .unreachable(let cause): ("unreachable", [cause])
      }
    return [
      "name": .string(process.name), "state": .string(state),
      "causes": .array(causes.map { .string($0) }),
      "cores": process.core.map(rounded) ?? .null,
      "resident_bytes": rounded(process.residentBytes),
    ]
  }

  private static func blockage(_ blockage: Blockage) -> JSONValue {
    [
      "app": blockage.app.map { .string($0) } ?? .null, "credential": .string(blockage.credential),
      "environment": .string(blockage.environment), "state": .string(blockage.state),
      "reason": .string(blockage.reason), "seconds": rounded(blockage.seconds),
      "waiting": rounded(blockage.waiting),
    ]
  }

  private static func campaign(_ campaign: CampaignStatus) -> JSONValue {
    [
      "name": .string(campaign.name), "app": .string(campaign.app),
      "environment": .string(campaign.environment), "state": .string(campaign.state),
      "reason": .string(campaign.reason), "addressed": rounded(campaign.addressed),
      "total": campaign.total.map(rounded) ?? .null, "ended": rounded(campaign.ended),
      "outcomes": object(campaign.outcomes),
      "rejected_percent": campaign.rejectedPercent.map(rounded) ?? .null,
      "per_second": rounded(campaign.perSecond),
      "seconds_left": campaign.secondsLeft.map(rounded) ?? .null,
    ]
  }

  private static func canary(_ canary: PipelineStatus.Canary) -> JSONValue {
    [
      "name": .string(canary.name), "success": .bool(canary.isWell),
      "seconds_since_success": canary.lastSuccess.map(rounded) ?? .null,
    ]
  }

  private static func object(_ counts: [PipelineStatus.Count]) -> JSONValue {
    .object(JSONObject(counts.map { .init(key: $0.name, value: rounded($0.value)) }))
  }

  static func rounded(_ value: Double) -> JSONValue {
    let thousandths = (value * 1_000).rounded()
    guard thousandths.isFinite, thousandths.magnitude < 1e15 else { return .null }
    let whole = Int64(thousandths)
    return whole % 1_000 == 0 ? .integer(whole / 1_000) : .double(Double(whole) / 1_000)
  }
}
