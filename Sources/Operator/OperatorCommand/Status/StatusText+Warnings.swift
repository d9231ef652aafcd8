// SPDX-License-Identifier: Apache-2.0
import Telemetry

extension StatusText {
  /// In seconds, as in the alert MartletCertificateExpires.
  private static let certificateWarning: Double = 14 * 86_400

  static func warnings(_ status: PipelineStatus) -> [String] {
    var lines: [String] = []
    for process in status.processes {
      let name = TerminalText.plain(process.name)
      switch process.state {
      case .ready: break
      case .notReady(let reasons): lines += reasons.map { "! \(name): \(TerminalText.plain($0))" }
      case .unreachable(let cause): lines.append("! \(name): \(TerminalText.plain(cause))")
      }
    }
    lines += blocked(status)
    if status.deliversNothing, let last = status.lastAccepted {
      lines.append("! nothing is delivered: APNs has accepted no push for \(duration(last))")
    }
    if status.credentialsWithoutToken > 0 {
      lines.append(
        "! \(count(status.credentialsWithoutToken)) credentials have no provider token that may be sent"
      )
    }
    if status.producersRefused > 0 {
      lines.append(
        "! Kafka refuses records of \(count(status.producersRefused)) producers; the log names topic and remedy"
      )
    }
    if status.databaseFailing > 0 {
      lines.append("! the database of device tokens takes no transaction; feedback's log says why")
    }
    if let left = status.nextCertificate, left < certificateWarning {
      lines.append("! a client certificate \(expiry(left)); the sender's log names it")
    }
    lines += status.refusedReloads.map {
      "! a changed file is refused, and what it held before is in use: \(TerminalText.plain($0)); the log says why"
    }
    if status.hasForeignAnswers {
      lines.append(
        "! something on the way to APNs answers in its place; the sender's log quotes it")
    }
    for kind in status.paused {
      lines.append(
        "! paused: \(count(kind.value)) \(TerminalText.plain(kind.name))\(kind.value == 1 ? "" : "s");"
          + (kind.name == "campaign"
            ? " martlet campaign list shows them" : " martlet pause lists them"))
    }
    for canary in status.canaries where !canary.isWell {
      let last = canary.lastSuccess.map { "the last success was \(duration($0)) ago" }
      lines.append(
        "! canary \(TerminalText.plain(canary.name)) fails; \(last ?? "none was delivered yet")")
    }
    if status.lost > 0 {
      lines.append(
        "! \(count(status.lost)) records were removed by retention before they were read")
    }
    return lines + slow(status)
  }

  /// Destinations that are not working: each app and credential by name, if the senders' pages name them.
  private static func blocked(_ status: PipelineStatus) -> [String] {
    status.blockages.map { "! " + text($0) }
      + status.unnamedBlocked.map { blocked in
        "! \(count(blocked.value)) destinations are blocked: \(TerminalText.plain(blocked.name))"
      }
  }

  private static func text(_ blockage: Blockage) -> String {
    let (credential, environment) = (
      TerminalText.plain(blockage.credential), TerminalText.plain(blockage.environment)
    )
    let what =
      switch blockage.state {
      case "app":
        "APNs refuses app \(TerminalText.plain(blockage.app ?? "?")) with credential \(credential)"
          + " in \(environment)"
      case "credential": "APNs refuses credential \(credential) in \(environment)"
      case "gateway": "the \(environment) gateway fails for credential \(credential)"
      case "connects": "no connection to the \(environment) gateway for credential \(credential)"
      case "no_token": "no valid provider token for credential \(credential) in \(environment)"
      default: "credential \(credential) in \(environment): \(TerminalText.plain(blockage.state))"
      }
    let reason = blockage.reason.isEmpty ? "" : " (\(TerminalText.plain(blockage.reason)))"
    return "\(what)\(reason), for \(duration(blockage.seconds));"
      + " \(count(blockage.waiting)) wait in memory"
  }

  /// In seconds, as in the alerts MartletBacklog, MartletGatewaySlow, MartletClockDifference and MartletWebhookBehind.
  /// The limit is lower before ingest, which does not order requests by urgency.
  private static let slowLimits = (
    intake: 10.0, backlog: 60.0, answer: 5.0, clock: 60.0, webhook: 900.0
  )

  /// Warnings about slow parts. A paused lane is one, too: the pages do not say which lane it is.
  private static func slow(_ status: PipelineStatus) -> [String] {
    var lines: [String] = []
    for lane in status.backlogSeconds
    where lane.name != "retries" && lane.value > slowLimits.backlog {
      lines.append(
        "! the oldest unfinished notification of the lane \(TerminalText.plain(lane.name)) is"
          + " \(duration(lane.value)) old")
    }
    if status.oldestRequest > slowLimits.intake {
      lines.append(
        "! the oldest request that ingest has not finished is \(duration(status.oldestRequest)) old"
      )
    }
    if status.heldByTransaction > slowLimits.intake {
      lines.append(
        "! an open transaction of another producer holds records back for"
          + " \(duration(status.heldByTransaction)); the log names partition and remedy")
    }
    if status.oldestFeedback > slowLimits.backlog {
      lines.append(
        "! feedback is behind: its oldest unfinished record is \(duration(status.oldestFeedback)) old"
      )
    }
    if let late = status.scheduled?.late, late > slowLimits.backlog {
      lines.append("! a scheduled request is late by \(duration(late))")
    }
    for endpoint in status.webhooks where endpoint.value > slowLimits.webhook {
      lines.append(
        "! webhook \(TerminalText.plain(endpoint.name)) has not accepted an event that is"
          + " \(duration(endpoint.value)) old")
    }
    if let answer = status.slowestAnswers, answer > slowLimits.answer {
      lines.append("! APNs answers slowly: every tenth answer takes more than \(duration(answer))")
    }
    if status.clockDifference > slowLimits.clock {
      lines.append(
        "! a sender's clock is \(duration(status.clockDifference)) ahead of a signer's; check both (NTP)"
      )
    }
    return lines
  }
}
