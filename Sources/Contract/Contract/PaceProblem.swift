// SPDX-License-Identifier: Apache-2.0

/// The reason why the pace in a record of `push.controls` is ignored.
public enum PaceProblem: Error, Sendable {
  /// The lane is not in the list.
  case unknownLane
  /// `PaceRoom.subjectsAtMost` others already have a pace, or the most groups do.
  case tooMany
  /// `PaceRoom.groupsOfAppAtMost` groups of the app already have a pace.
  case tooManyOfApp
  /// A device cannot have this rate.
  case notForDevices
}
