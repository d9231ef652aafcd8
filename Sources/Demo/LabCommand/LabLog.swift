// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The log events of the laboratory: the embedded broker, the demo and the local pipeline.
public enum LabLog: String, LogTable {
  case faultInterface = "fault interface"
  case oneNode = "one node without replicas, for trials and tests"
  case noSpace = "no space left; refusing records"
  case spaceAgain = "there is room for records again"
  case demoProblem = "the demo found a problem"
  case folderKept = "folder kept"
  case starting
  case processKilled = "process killed with SIGKILL"
  case requestsGenerated = "requests generated"
  case topicsCreated = "topics created"
  case topicsLeft = "topics are left in the cluster"
  case notAssigned = "waiting for processes to be assigned their partitions"
  case processStuck = "process did not exit in time; killing it"
  case processExited = "process exited"
  case processRestarts = "process exited; restarting it"
  case processNotStarted = "cannot start a process; retrying"
  case diskFull = "the disk is full: logs and the database are not written; free some space"
  case allExited = "all processes have exited"

  public var level: LogLevel {
    switch self {
    case .noSpace, .demoProblem, .processNotStarted, .diskFull: .error
    case .oneNode, .processKilled, .notAssigned, .processStuck, .processExited, .processRestarts:
      .warning
    case .faultInterface, .spaceAgain, .folderKept, .starting, .requestsGenerated, .topicsCreated,
      .topicsLeft, .allExited:
      .info
    }
  }
}
