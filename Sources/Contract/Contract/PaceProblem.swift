// SPDX-License-Identifier: Apache-2.0

/// An error in a record of `push.controls`: its pace is not kept.
public enum PaceProblem: Error, Sendable {
  /// The lane is none of the list's.
  case unknownLane
  /// `PaceRoom.subjectsAtMost` others have a pace already, or so many groups as may have one.
  case tooMany
  /// `PaceRoom.groupsOfAppAtMost` groups of the app have a pace already.
  case tooManyOfApp
  /// No device can have this rate.
  case notForDevices
}
