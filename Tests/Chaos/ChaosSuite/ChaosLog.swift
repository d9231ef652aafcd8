// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// The log events of the chaos suite.
enum ChaosLog: String, LogTable {
  case paceCancelled = "a campaign with a pace was cancelled"
  case campaigns
  case scenarioFailed = "a scenario cannot be run"
  case fault
  case problem = "the scenario found a problem"
  case longWait = "notifications wait on the 15-minute topic"
  case owners
  case people
  case folderKept = "folder kept"
  case states
  case backlog
  case outageConnects = "connection attempts during an outage"
  case connects = "connection attempts"
  case otherApps = "answers of the other apps"
  case deadAddresses = "answers beside dead addresses"
  case scheduledRequests = "scheduled requests"

  var level: LogLevel {
    switch self {
    case .scenarioFailed, .problem: .error
    case .paceCancelled, .campaigns, .fault, .longWait, .owners, .people, .folderKept, .states,
      .backlog, .outageConnects, .connects, .otherApps, .deadAddresses, .scheduledRequests:
      .info
    }
  }
}
